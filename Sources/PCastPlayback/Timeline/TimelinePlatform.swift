import PCastCore
import PCastIO
public import PCastTimeline
import PCastWeb
import Synchronization

/// The source of timelines at a PCast platform.
public struct TimelinePlatform: TimelineSource {
    /// The address of the platform: `http://HOST:PORT` or `https://HOST`.
    public var uri: String
    /// The EdgeAuth token that permits viewing; nil for a platform on loopback, which requires none.
    public var token: String?

    /// The time without any message after which the connection is closed. The platform sends a ping every 20 s.
    private static let silence = TimeSpan.seconds(50)

    /// Creates the source of a platform.
    public init(uri: String, token: String? = nil) { (self.uri, self.token) = (uri, token) }

    /// Returns whether the platform has a timeline of the game. Throws ``TimelineFollowError/refused(_:)`` if the token is
    /// not valid, or ``TimelineFollowError/unreachable(_:)``.
    public func exists(_ game: TimelineGame) async throws(TimelineFollowError) -> Bool {
        let answer: HTTPResult
        do {
            answer = try await HTTPRequests.send("HEAD", address(of: game), headers: headers)
        } catch {
            throw .unreachable("\(error)")
        }
        switch answer.status {
        case 200: return true
        case 404: return false
        case 401, 403: throw .refused("the token is not valid for this timeline")
        default: throw .unreachable("the platform responded with status \(answer.status)")
        }
    }

    /// Follows a game over a WebSocket. Throws a ``TimelineFollowError``, or the error of `take`.
    public func follow(
        _ game: TimelineGame, since: SequenceNumber, of log: TimelineLogID?,
        _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws {
        var address = address(of: game) + "/changes?since=\(since)"
        if let log { address += "&log=\(Self.encoded(log.description))" }
        do {
            try await WebSocketClient().connect(to: address, headers: headers) { connection in
                try await Self.read(connection, take)
            }
        } catch let error as WebError {
            throw TimelineFollowError.unreachable("\(error)")
        }
    }

    /// The time of the last message.
    private final class LastMessageTime: Sendable {
        private let last = Mutex(MonotonicClock.now())

        /// Records a message now.
        func note() {
            let now = MonotonicClock.now()
            last.withLock { $0 = now }
        }

        /// The time since the last message.
        var age: TimeSpan { MonotonicClock.now() - last.withLock { $0 } }
    }

    /// Passes all messages of a connection to `take`, and closes a connection that is silent.
    private static func read(
        _ connection: WebSocketConnection, _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws {
        let pulse = LastMessageTime()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await connection.forEachMessage { message in
                    pulse.note()
                    guard case .text(let text) = message else { return }
                    let read: TimelineMessage
                    do throws(TimelineError) {
                        read = try TimelineMessage(parsing: Array(text.utf8))
                    } catch {
                        throw TimelineFollowError.broken(error)
                    }
                    try take(read)
                } onActivity: {
                    pulse.note()
                }
                return true
            }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(5))) != nil {
                    if pulse.age > silence { connection.cut() }
                }
                return false
            }
            defer { group.cancelAll() }
            while let isOver = try await group.next() {
                if isOver { return }
            }
        }
    }

    /// The HTTP headers with the token, if there is one.
    private var headers: [(name: String, value: String)] { token.map { [("Authorization", "Bearer \($0)")] } ?? [] }

    /// Returns the address of a game's timeline.
    private func address(of game: TimelineGame) -> String {
        let base = uri.hasSuffix("/") ? String(uri.dropLast()) : uri
        return "\(base)/timeline/\(Self.encoded(game.league))/\(Self.encoded(game.game))"
    }

    /// Returns the text with percent-encoding, for a segment of a path or a value of a query (RFC 3986, section 2.3).
    package static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return encoded
    }
}

/// The descriptions omit the token, because they may be logged.
extension TimelinePlatform: CustomStringConvertible, CustomReflectable {
    /// The address without the token.
    public var description: String { uri }

    /// The mirror without the token.
    public var customMirror: Mirror { Mirror(self, children: ["uri": uri]) }
}
