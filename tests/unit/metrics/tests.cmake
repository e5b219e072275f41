unit_test(metrics/metrics schemas_metrics)
