"""Files: models, and later whole collections."""
