/* chat_reader.h - what the files that read a chat share. Inside
 * producer/gateway/chat only. */
#ifndef PRODUCER_GATEWAY_CHAT_READER_H
#define PRODUCER_GATEWAY_CHAT_READER_H

#include "producer/gateway/chat/chat_request.h"

/* chat_message.c: messages, as the input of chat->body. */
bool chat_messages_read(struct chat_request *chat,
                        const struct body_value *body);

#endif
