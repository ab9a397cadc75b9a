"""What requests and answers look like. The same classes check requests and describe them in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = [
    "AddRequest",
    "BatchAnswer",
    "BatchSearch",
    "DeleteRequest",
    "ErrorAnswer",
    "GetRequest",
    "LimitRequest",
    "SearchAnswer",
    "SearchRequest",
]

_INT64 = {"ge": -(2**63), "le": 2**63 - 1}
#: A whole number of 64 bits, or a string.
Id = Annotated[int, Field(**_INT64)] | str
Code = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2})+$", max_length=1024)]
Vector = Annotated[list[float], Field(min_length=1, max_length=1_000_000)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Filter = dict[str, Any]
_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Options(BaseModel):
    """What every form of a search takes."""

    model_config = _STRICT

    modality: Name | None = Field(None, description="Modality of the query. By default the one that fits.")
    into: Name | None = Field(None, description="Modality to search. By default all.")
    k: int | None = Field(
        10,
        ge=1,
        le=2**31,
        description="Hits for each query. null: all within the radius, which is needed then.",
    )
    where: Filter | None = Field(None, description='Filter on payloads, such as {"year": {"ge": 1990}}.')
    radius: int | None = Field(None, ge=0, le=2**31, description="Only hits at most this many bits away.")
    max_false_matches: float | None = Field(
        None, gt=0, description="Only hits so near that, on average, at most this many of a query are wrong."
    )
    expected_matches: float | None = Field(
        None, gt=0, description="How many of the searched items belong to a query, for chances."
    )
    rank: Literal["auto", "hamming", "asymmetric"] = Field("auto", description="Order of the hits.")
    words: bool | None = Field(None, description="Whether texts are also matched with the words of captions.")
    fields: list[str] | None = Field(
        None, max_length=1000, description="Payload fields to answer with. By default all; [] for none."
    )


class SearchRequest(Options):
    """One query: a text, a picture, a vector, a code, or a stored item; or several of them, fused."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [
                {"text": "a white star", "into": "image", "k": 5},
                {"code": "00ff00ff00ff00ff", "into": "image", "radius": 12},
                {"item": 7, "modality": "image", "into": "image", "where": {"year": {"ge": 1990}}},
            ]
        },
    )

    text: Text | None = Field(None, description="Words.")
    picture: str | None = Field(
        None, max_length=2**26, description="A picture file, in base64. Or send the file itself as the body."
    )
    vector: Vector | None = Field(None, description="Features of one modality.")
    vectors: dict[Name, Vector] | None = Field(
        None, min_length=1, description="Features by modality: a fused query."
    )
    code: Code | None = Field(None, description="A packed code, in hexadecimal digits.")
    item: Id | None = Field(None, description="Id of a stored object, which is not found itself.")


class BatchSearch(Options):
    """Many queries of one kind, with the same options."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [{"codes": ["00ff00ff00ff00ff", "0123456789abcdef"], "into": "image", "k": 3}]
        },
    )

    texts: list[Text] | None = Field(
        None,
        description="With `views` they are the words of the same fused queries; `modality` is theirs then.",
    )
    vectors: list[Vector] | None = None
    views: dict[Name, list[Vector]] | None = Field(
        None, min_length=1, description="Features by modality; row r of each is one fused query."
    )
    codes: list[Code] | None = None
    arrays: bool = Field(
        False,
        description="Answer with ids and distances only, as two lists for each query. Needs codes and `into`.",
    )


class GetRequest(BaseModel):
    """Objects by their ids."""

    model_config = ConfigDict(strict=True, extra="forbid", json_schema_extra={"examples": [{"ids": [3, 7]}]})

    ids: list[Id]
    modality: Name | None = Field(None, description="Only codes of this modality.")
    missing: Literal["error", "skip"] = Field("error", description="What to do with ids that do not exist.")


class DeleteRequest(BaseModel):
    """Ids of objects to remove. Ids that do not exist are ignored."""

    model_config = ConfigDict(strict=True, extra="forbid", json_schema_extra={"examples": [{"ids": [3, 7]}]})

    ids: list[Id]
    modality: Name | None = Field(None, description="Only codes of this modality; by default all.")


class AddRequest(BaseModel):
    """Objects to store, by their codes, features, texts or pictures."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [
                {
                    "modality": "image",
                    "codes": ["00ff00ff00ff00ff"],
                    "ids": [12],
                    "payloads": [{"year": 1990}],
                }
            ]
        },
    )

    modality: Name | None = Field(None, description="Left out for objects with several modalities.")
    codes: list[Code] | None = None
    vectors: list[Vector] | None = None
    texts: list[Text] | None = None
    pictures: list[str] | None = Field(None, description="Picture files, in base64.")
    views: dict[Name, list[Vector]] | None = Field(
        None, min_length=1, description="Features by modality: each object gets one fused code."
    )
    ids: list[Id] | dict[Name, list[Id]] | None = Field(
        None,
        description="By default the next whole numbers. By modality: rows with the same id are one object.",
    )
    payloads: list[dict[str, Any] | None] | None = None
    unless_within: int | None = Field(
        None, ge=0, le=2**31, description="Leave out objects within this distance of a stored one."
    )
    model_sha256: str | None = Field(
        None, max_length=64, description="Refuse this with 409 if the store has another model now."
    )


class LimitRequest(BaseModel):
    """A promise of few wrong hits."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [{"max_false_matches": 0.5, "modality": "text", "into": "image"}],
        },
    )

    max_false_matches: float = Field(gt=0)
    modality: Name = Field(description="Modality of the query.")
    into: Name
    where: Filter | None = None


class HitAnswer(BaseModel):
    """An object that a search found."""

    id: Id
    distance: int | None
    payload: dict[str, Any]
    modality: str
    chance: float | None
    score: float | None
    found_by: Literal["codes", "words", "both"]


class SearchAnswer(BaseModel):
    """Hits, best first."""

    hits: list[HitAnswer]
    reason: str | None = Field(None, description="Why nothing was found, if that is known.")
    notes: list[str] = Field([], description="Words and fields that do not exist.")


class BatchAnswer(BaseModel):
    """Hits of each query; or, with `arrays`, ids and distances."""

    results: list[list[HitAnswer]] | None = None
    ids: list[list[Id]] | None = None
    distances: list[list[int]] | None = None


class ErrorText(BaseModel):
    """What is wrong."""

    type: str
    message: str


class ErrorAnswer(BaseModel):
    """Every answer with a status of 400 or more."""

    error: ErrorText
