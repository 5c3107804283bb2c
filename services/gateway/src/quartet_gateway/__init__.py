"""The model gateway: LiteLLM's Router behind an OpenAI-compatible endpoint."""
