"""See test_requests.py."""
