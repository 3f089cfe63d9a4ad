"""Pages over the service, made of the report's style and charts."""
