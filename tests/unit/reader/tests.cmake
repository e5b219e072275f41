foreach(module charset expression page walls)
  unit_test(reader/${module} consumer_reader)
endforeach()
