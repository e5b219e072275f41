unit_test(json/convert schemas_json)
unit_test(json/document schemas_json)
unit_test(json/recording schemas_json PkgConfig::CRYPTO)
