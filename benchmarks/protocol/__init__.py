"""The protocols of the field on the files of its data sets."""
