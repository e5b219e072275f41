# Their rates are taken by hand: what is a test is the sorting of what differs.
scenario_test(conformance/kinds unit)
