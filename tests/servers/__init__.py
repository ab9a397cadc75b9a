"""Real database servers for tests: PostgreSQL and Milvus, started and stopped by their process ids."""
