foreach(module content exporter otlp ring span)
  unit_test(trace/${module} consumer_core)
endforeach()
