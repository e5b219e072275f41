unit_test(chat/chat_stream producer_chat)
unit_test(chat/chat_links producer_chat)
