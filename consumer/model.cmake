# The model client: what the consumer knows of HTTP and chat-completions.
add_library(consumer_model STATIC
  endpoint.c
  http.c
  http_multi.c
  model.c
  model_body.c
  reply.c
  reply_call.c
  reply_error.c
  reply_json.c
  sse.c)
target_link_libraries(consumer_model
  PUBLIC schemas_message PkgConfig::CURL PkgConfig::UV PkgConfig::JANSSON
  PRIVATE quern_flags quern_sanitize PkgConfig::CRYPTO)
