fuzz_target(check schemas_message)
fuzz_target(message schemas_message)
fuzz_target(frame schemas_message)
fuzz_target(convert schemas_json)
