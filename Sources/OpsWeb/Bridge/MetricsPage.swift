internal import OpsClient
internal import OpsSystem
internal import OpsWire

/// The figures of the daemon for monitoring, as `opsctl metrics` prints them.
enum MetricsPage {
    /// Returns the text for the replies of the methods Status and Metrics, or the error that a reply has.
    static func response(status: HTTPResponse, metrics: HTTPResponse) -> HTTPResponse {
        guard metrics.status == 200, case .bytes(let first) = status.body, case .bytes(let second) = metrics.body else {
            return metrics
        }
        do {
            let status: StatusReply = try ReceivedReply(frame: first, isTolerant: true).result()
            let metrics: MetricsReply = try ReceivedReply(frame: second, isTolerant: true).result()
            let text = MetricsText(status, metrics, now: Clock.read().wall).text
            return HTTPResponse(200, type: MetricsText.mediaType, Array(text.utf8))
        } catch {
            return .problem(502, "the daemon sent numbers that this opsd-web does not understand")
        }
    }
}
