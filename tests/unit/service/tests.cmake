unit_test(service/log_event schemas_log)
