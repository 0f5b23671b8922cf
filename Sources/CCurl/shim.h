#include <curl/curl.h>

/* curl_easy_setopt and its kin are variadic, which Swift does not import: one function for each type of argument. */

static inline CURLcode opsd_curl_set_long(CURL *easy, CURLoption option, long value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode opsd_curl_set_size(CURL *easy, CURLoption option, curl_off_t value)
{
    return curl_easy_setopt(easy, option, value);
}

/* libcurl copies the text. */
static inline CURLcode opsd_curl_set_text(CURL *easy, CURLoption option, const char *value)
{
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode opsd_curl_set_pointer(CURL *easy, CURLoption option, void *value)
{
    return curl_easy_setopt(easy, option, value);
}

/* libcurl does not copy the list: it must stay until the transfer has ended. */
static inline CURLcode opsd_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value)
{
    return curl_easy_setopt(easy, option, value);
}

typedef size_t (*opsd_curl_receiver)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode opsd_curl_set_receiver(CURL *easy, CURLoption option, opsd_curl_receiver receiver)
{
    return curl_easy_setopt(easy, option, receiver);
}

/* The callback is called when the transfer has a connection, before it sends its request. */
static inline CURLcode opsd_curl_watch_request(CURL *easy, curl_prereq_callback callback, void *context)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
    return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_PREREQDATA, context) : code;
}

static inline CURLMcode opsd_curl_multi_set_long(CURLM *multi, CURLMoption option, long value)
{
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode opsd_curl_multi_watch_sockets(CURLM *multi, curl_socket_callback callback, void *context)
{
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
    return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context) : code;
}

static inline CURLMcode opsd_curl_multi_watch_timer(CURLM *multi, curl_multi_timer_callback callback, void *context)
{
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
    return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context) : code;
}

/* The next transfer that has ended, with its result; NULL: there is none now. */
static inline CURL *opsd_curl_multi_next_ended(CURLM *multi, CURLcode *result)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));)
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    return 0;
}

/* The file of authorities that libcurl was built with; NULL: none. */
static inline const char *opsd_curl_default_authorities(void)
{
    return curl_version_info(CURLVERSION_NOW)->cainfo;
}

/* OpenSSL's object of an encrypted connection; NULL: there is none, or libcurl uses another library. */
static inline void *opsd_curl_openssl(CURL *easy)
{
    struct curl_tlssessioninfo *session = 0;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session) return 0;
    return session->backend == CURLSSLBACKEND_OPENSSL ? session->internals : 0;
}
