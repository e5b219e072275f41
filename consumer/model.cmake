# The model client: what the consumer knows of HTTP and chat-completions.
