add_library(redis_server STATIC unit/redis/server.c)
target_link_libraries(redis_server PRIVATE quern_flags quern_sanitize)

unit_test(redis/names schemas_redis)
unit_test(redis/address schemas_redis)
unit_test(redis/command schemas_redis)
unit_test(redis/reply schemas_redis)
unit_test(redis/conn schemas_redis redis_server)
unit_test(redis/transition schemas_redis redis_server)
