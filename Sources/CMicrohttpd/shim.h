#include <microhttpd.h>

/* Variadic functions and macros, which Swift does not import. */

/* Serves HTTP on a socket that listens already, without threads: the caller polls `opsd_http_descriptor`. NULL: no memory. */
static inline struct MHD_Daemon *opsd_http_start(
    int listener, unsigned int connections, size_t memory, unsigned int idle, MHD_AccessHandlerCallback access,
    MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback notify, void *context)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, access, context,
        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_CONNECTION_TIMEOUT, idle,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_NOTIFY_CONNECTION, notify, context, MHD_OPTION_END);
}

/* The set of descriptors to poll; -1: there is none. */
static inline int opsd_http_descriptor(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

/* The socket of a connection; -1: it has none. */
static inline int opsd_http_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* A response of bytes that are copied. */
static inline struct MHD_Response *opsd_http_bytes(const void *bytes, size_t count)
{
    return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

/* A response of unknown length. */
static inline struct MHD_Response *opsd_http_stream(
    MHD_ContentReaderCallback reader, void *context, MHD_ContentReaderFreeCallback released)
{
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1 << 14, reader, context, released);
}

static inline ssize_t opsd_http_end_of_stream(void) { return MHD_CONTENT_READER_END_OF_STREAM; }

static inline enum MHD_Result opsd_http_result(int isDone) { return isDone ? MHD_YES : MHD_NO; }

/* Whether libmicrohttpd wants to run again within these milliseconds. */
static inline int opsd_http_timeout(struct MHD_Daemon *daemon, unsigned long long *milliseconds)
{
    return MHD_get_timeout(daemon, milliseconds) == MHD_YES;
}

static inline void opsd_http_each_header(struct MHD_Connection *connection, MHD_KeyValueIterator each, void *context)
{
    MHD_get_connection_values(connection, MHD_HEADER_KIND, each, context);
}

static inline void opsd_http_each_argument(struct MHD_Connection *connection, MHD_KeyValueIterator each, void *context)
{
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, each, context);
}

static inline int opsd_http_is_start(enum MHD_ConnectionNotificationCode code)
{
    return code == MHD_CONNECTION_NOTIFY_STARTED;
}
