import PCastHLS
public import PCastTimeline

/// The default source of a timeline: the platform of the stream that the player plays.
struct PlayedPlatform: TimelineSource {
    let player: Player

    /// Returns whether the platform has a timeline of the game.
    func exists(_ game: TimelineGame) async throws(TimelineFollowError) -> Bool { try await find(game).exists }

    /// Follows a game on the platform.
    func follow(
        _ game: TimelineGame, since: SequenceNumber, of log: TimelineLogID?,
        _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws {
        let (platform, exists) = try await find(game)
        guard exists else { throw TimelineFollowError.noGame }
        try await platform.follow(game, since: since, of: log, take)
    }

    /// Returns the platform, and whether it has a timeline of the game. If the platform rejects the token, it tries
    /// without one: a stream's token may be valid for that stream only, and a platform on loopback requires none.
    private func find(
        _ game: TimelineGame
    ) async throws(TimelineFollowError) -> (platform: TimelinePlatform, exists: Bool) {
        guard var platform = player.session?.source.flatMap({ TimelinePlatform(of: $0) }) else { throw .noPlatform }
        let refusal: TimelineFollowError
        do throws(TimelineFollowError) {
            return (platform, try await platform.exists(game))
        } catch {
            guard case .refused = error, platform.token != nil else { throw error }
            refusal = error
        }
        platform.token = nil
        do throws(TimelineFollowError) { return (platform, try await platform.exists(game)) } catch { throw refusal }
    }
}

extension TimelinePlatform {
    /// Creates the platform of a source with the token in its address; nil for a source of any other form. The address
    /// has the scheme `pcast`, or is a link to a platform's page, or a platform's playlist,
    /// `http(s)://HOST[:PORT]/video/STREAM/NAME.m3u8?token=TOKEN`.
    init?(of source: Source) {
        if let address = StreamAddress(source.address) {
            self.init(uri: address.platform, token: address.token)
            return
        }
        var reference = URIReference(source.address)
        var parts = reference.path.split(separator: "/")
        guard ["http", "https"].contains(reference.scheme?.lowercased() ?? ""), reference.authority?.isEmpty == false,
            parts.count >= 3, parts[parts.count - 3] == "video", parts[parts.count - 1].hasSuffix(".m3u8")
        else { return nil }
        let fields = (reference.query ?? "").split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        let token = fields.first { $0.count == 2 && $0[0] == "token" }.map { String($0[1]) }
        parts.removeLast(3)
        reference.path = parts.map { "/" + $0 }.joined()
        (reference.query, reference.fragment) = (nil, nil)
        self.init(uri: reference.text, token: token.map { Self.decoded($0) })
    }

    /// Returns the text without percent-encoding (RFC 3986, section 2.1). An invalid percent sign remains as it is.
    private static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let text = String(digits),
                let value = UInt8(text, radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A service that provides timelines.
public protocol TimelineSource: Sendable {
    /// Returns whether the service has a timeline of the game. Throws a ``TimelineFollowError`` if that is unknown.
    func exists(_ game: TimelineGame) async throws(TimelineFollowError) -> Bool

    /// Follows a game until its connection ends, and passes each message to `take`, in order. The messages begin after
    /// `since` if the service still has the log `log`. If `take` throws, the connection ends. Throws a
    /// ``TimelineFollowError``, or the error of `take`.
    func follow(
        _ game: TimelineGame, since: SequenceNumber, of log: TimelineLogID?,
        _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws
}

/// A reason why a timeline cannot be followed.
public enum TimelineFollowError: Error, Hashable, Sendable {
    /// The service does not respond, or the connection broke. A later retry may succeed.
    case unreachable(String)
    /// The timeline has no source, and the player does not play a stream of a platform.
    case noPlatform
    /// The service rejects the request, for the reason given.
    case refused(String)
    /// The service has no timeline of the game, perhaps not yet.
    case noGame
    /// The service sent a message that is not valid, or the name of the game is not valid.
    case broken(TimelineError)
    /// The timeline was shut down.
    case over
}

extension TimelineFollowError: CustomStringConvertible {
    /// The reason, for people, with what to do.
    public var description: String {
        switch self {
        case .unreachable(let reason): "the timeline service cannot be reached: \(reason)"
        case .noPlatform:
            "the timeline's platform is unknown: play a stream of a platform, or set the timeline's source"
        case .refused(let reason): "the timeline service rejected the request: \(reason)"
        case .noGame:
            "the game has no timeline, or not yet: check that league and game are written as by the producer"
        case .broken(let error): "\(error)"
        case .over: "the timeline was shut down: create another one"
        }
    }
}
