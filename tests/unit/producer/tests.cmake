unit_test(producer/option producer_cli)
unit_test(producer/term producer_cli)
unit_test(producer/client producer_client)
unit_test(producer/threads producer_client redis_server)
