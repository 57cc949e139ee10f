import PCastHLS
import PCastTimeline

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
            guard !address.isEndpoint else { return nil }
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
