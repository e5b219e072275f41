foreach(module charset expression page)
  unit_test(reader/${module} consumer_reader)
endforeach()
