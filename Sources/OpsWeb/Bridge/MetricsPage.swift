internal import OpsClient
internal import OpsSystem
internal import OpsWire

/// The figures of the daemon for monitoring, as `opsctl metrics` prints them.
enum MetricsPage {
    /// Returns the text for the replies of the methods Status, ListExecutors and Metrics.
    static func response(status: HTTPResponse, executors: HTTPResponse, metrics: HTTPResponse) -> HTTPResponse {
        do {
            let rows = try result(executors, ListExecutorsReply.self).executors
            let figures = MetricsText(
                try result(status, StatusReply.self), try result(metrics, MetricsReply.self), rows,
                now: Clock.read().wall)
            return HTTPResponse(200, type: MetricsText.mediaType, Array(figures.text.utf8))
        } catch {
            return .problem(502, "the daemon sent numbers that this opsd-web does not understand")
        }
    }

    private static func result<Result: WireRecord>(_ response: HTTPResponse, _ type: Result.Type) throws -> Result {
        guard case .bytes(let message) = response.body else { throw InvalidParameter("", "is not a message") }
        return try ReceivedReply(frame: message, isTolerant: true).result(type)
    }
}
