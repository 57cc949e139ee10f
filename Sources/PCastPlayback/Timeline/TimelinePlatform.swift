import PCastCore
import PCastIO
public import PCastTimeline
import PCastWeb
import Synchronization

/// The timelines of a PCast platform.
public struct TimelinePlatform: TimelineSource {
    /// `http://HOST:PORT` or `https://HOST`.
    public var uri: String
    /// An EdgeAuth token that one may view with; nil on a platform that is for this machine.
    public var token: String?

    /// The platform asks for a sign of life each 20 s; who hears nothing for so long is cut off.
    private static let silence = TimeSpan.seconds(50)

    public init(uri: String, token: String? = nil) { (self.uri, self.token) = (uri, token) }

    public func exists(_ game: TimelineGame) async throws(TimelineTrouble) -> Bool {
        let answer: HTTPAnswer
        do {
            answer = try await HTTPRequests.send("HEAD", address(of: game), headers: headers)
        } catch {
            throw .unreachable("\(error)")
        }
        switch answer.status {
        case 200: return true
        case 404: return false
        case 401, 403: throw .refused("the token is not valid for this")
        default: throw .unreachable("the platform answers with \(answer.status)")
        }
    }

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
            throw TimelineTrouble.unreachable("\(error)")
        }
    }

    /// When something was heard last.
    private final class Pulse: Sendable {
        private let last = Mutex(MonotonicClock.now())

        func note() {
            let now = MonotonicClock.now()
            last.withLock { $0 = now }
        }

        var age: TimeSpan { MonotonicClock.now() - last.withLock { $0 } }
    }

    private static func read(
        _ connection: WebSocketConnection, _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws {
        let pulse = Pulse()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await connection.forEachMessage { message in
                    pulse.note()
                    guard case .text(let text) = message else { return }
                    let read: TimelineMessage
                    do throws(TimelineError) {
                        read = try TimelineMessage(parsing: Array(text.utf8))
                    } catch {
                        throw TimelineTrouble.broken(error)
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

    private var headers: [(name: String, value: String)] { token.map { [("Authorization", "Bearer \($0)")] } ?? [] }

    private func address(of game: TimelineGame) -> String {
        let base = uri.hasSuffix("/") ? String(uri.dropLast()) : uri
        return "\(base)/timeline/\(Self.encoded(game.league))/\(Self.encoded(game.game))"
    }

    /// As a part of a path, or a value of a query (RFC 3986, section 2.3).
    public static func encoded(_ text: String) -> String {
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

/// The token is not for logs.
extension TimelinePlatform: CustomStringConvertible, CustomReflectable {
    public var description: String { uri }

    public var customMirror: Mirror { Mirror(self, children: ["uri": uri]) }
}
