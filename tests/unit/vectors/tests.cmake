unit_test(vectors/golden schemas_json)
