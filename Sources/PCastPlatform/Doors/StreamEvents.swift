import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import PCastMedia

/// What happens to a WHIP or WHEP session as server-sent events (HTML, section 9.2), for browsers, which have no other
/// signalling with the platform.
///
/// The answer to a POST names the address in a `Link` header with the relation that the WHEP drafts give such events, and
/// `events="data-quality,ended"`. GET on it tells the row of data quality that holds, each change, and why it ended:
///
///     event: data-quality
///     data: {"status":"audio-only","reason":"download-limited"}
///
///     event: ended
///     data: {"reason":"censored"}
///
/// It ends with the session. The resource's name is its own secret, as it is for DELETE.
enum StreamEvents {
    private static let relation = "urn:ietf:params:whep:ext:core:server-sent-events"

    /// Something is said so often, so that no proxy between takes the connection for dead.
    private static let heartbeat = Duration.seconds(15)

    static func link(to path: String) -> String { "<\(path)>; rel=\"\(relation)\"; events=\"data-quality,ended\"" }

    private struct Ended: Encodable { let reason: String }

    static func response(_ news: AsyncStream<StreamNews>) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                let (lines, told) = AsyncStream.makeStream(of: String.self)
                let following = Task {
                    for await each in news { told.yield(event(each)) }
                    told.finish()
                }
                let beating = Task {
                    while (try? await Task.sleep(for: heartbeat)) != nil { told.yield(":\n\n") }
                }
                defer {
                    following.cancel()
                    beating.cancel()
                }
                for await line in lines { try await writer.write(ByteBuffer(string: line)) }
                try await writer.finish(nil)
            })
    }

    private static func event(_ news: StreamNews) -> String {
        switch news {
        case .quality(let quality): return event(quality)
        case .ended(let end):
            // The words may be the application's own; as JSON they are one line.
            let data = (try? JSONEncoder().encode(Ended(reason: end.wire))).map { String(decoding: $0, as: UTF8.self) }
            return "event: ended\ndata: \(data ?? "{}")\n\n"
        }
    }

    private static func event(_ quality: DataQuality) -> String {
        let status = quality.status.rawValue
        let reason = quality.reason.rawValue
        return "event: data-quality\ndata: {\"status\":\"\(status)\",\"reason\":\"\(reason)\"}\n\n"
    }
}
