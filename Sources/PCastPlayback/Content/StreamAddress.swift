internal import Foundation
public import PCast
internal import PCastHLS

/// The address of a stream of a platform: `pcast://HOST[:PORT]/STREAM`, `pcasts:` for a platform with TLS, or the link
/// for browsers, `http(s)://HOST[:PORT]/watch/STREAM`. Each may have the fragment `#token=TOKEN`. Without a stream ID,
/// it is the stream of the token, or otherwise the newest.
///
/// `whep://` and `wheps://` are WHEP endpoints of any server. The whole address is then ``platform``.
public struct StreamAddress: Hashable, Sendable {
    /// The address of the platform, with the scheme http or https, or that of a WHEP endpoint.
    public var platform: String
    /// The stream ID; nil for the stream of the token, or the newest.
    public var stream: String?
    /// The secret token that permits viewing; nil for none.
    public var token: String?

    /// Creates an address from its parts.
    public init(platform: String, stream: String? = nil, token: String? = nil) {
        (self.platform, self.stream, self.token) = (platform, stream, token)
    }

    /// Parses an address; nil if it is not the address of a stream.
    public init?(_ address: String) {
        var reference = URIReference(address)
        guard let authority = reference.authority, !authority.isEmpty else { return nil }
        let isEndpoint = ["whep", "wheps"].contains(reference.scheme?.lowercased() ?? "")
        let fields = (reference.fragment ?? "").split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        let token = fields.first { $0.count == 2 && $0[0] == "token" }.flatMap { Self.decoded($0[1]) }
        if isEndpoint {
            reference.fragment = nil
            self.init(platform: reference.text, token: token)
            return
        }
        var parts = reference.path.split(separator: "/").map(String.init)
        let scheme: String
        switch reference.scheme?.lowercased() {
        case "pcast": scheme = "http"
        case "pcasts": scheme = "https"
        case let web? where ["http", "https"].contains(web):
            guard parts.count >= 2, parts[parts.count - 2] == "watch", parts.last?.contains(".") == false else {
                return nil
            }
            parts.remove(at: parts.count - 2)
            scheme = web
        default: return nil
        }
        let stream = parts.popLast()
        (reference.scheme, reference.query, reference.fragment) = (scheme, nil, nil)
        reference.path = parts.map { "/" + $0 }.joined()
        self.init(platform: reference.text, stream: stream.flatMap { Self.decoded($0[...]) }, token: token)
    }

    /// Returns a text without percent-encoding; nil if it is not valid.
    private static func decoded(_ text: Substring) -> String? { String(text).removingPercentEncoding }

    /// Whether the address is that of a WHEP endpoint.
    var isEndpoint: Bool {
        let start = platform.prefix(8).lowercased()
        return start.hasPrefix("whep://") || start.hasPrefix("wheps://")
    }

    /// The address for people without the token. It can be used as an address again.
    public var name: String {
        if isEndpoint { return ContentAddress.withoutSecrets(URIReference(platform)) }
        var reference = URIReference("\(platform)/\(stream ?? "")")
        let isSecure = ["https", "wss"].contains(reference.scheme?.lowercased() ?? "")
        reference.scheme = isSecure ? "pcasts" : "pcast"
        return ContentAddress.withoutSecrets(reference)
    }

    /// Subscribes to the stream with a new client, which ends with the stream. `authenticationToken` is the token for
    /// the session, and `streamToken` that for the stream; nil for the token of the address. Throws
    /// ``PlaybackError/noStream(_:status:reason:)`` with the platform's response.
    public func subscribe(
        authenticationToken: String? = nil, streamToken: String? = nil
    ) async throws(PlaybackError) -> MediaStream {
        let pcast = PCast(PCastOptions(uri: platform, streamingClient: .hls))
        do throws(PCastError) {
            if isEndpoint {
                let text = streamToken ?? token ?? ""
                let stream = try await pcast.subscribe(fromWHEP: platform, token: text.isEmpty ? nil : text)
                stream.whenEnded { _ in Task { await pcast.shutdown() } }
                return stream
            }
            _ = try await pcast.start(authenticationToken: authenticationToken ?? token ?? "")
            let stream = try await pcast.subscribe(
                streamToken: streamToken ?? token ?? "", streamID: self.stream.map { StreamID($0) })
            stream.whenEnded { _ in Task { await pcast.shutdown() } }
            return stream
        } catch {
            await pcast.shutdown()
            throw .noStream(
                name, status: error.cause == .connection ? nil : error.status, reason: error.description)
        }
    }
}

extension StreamAddress: CustomStringConvertible, CustomReflectable {
    /// The address without the token.
    public var description: String { name }

    /// The mirror without the token.
    public var customMirror: Mirror {
        Mirror(self, children: ["platform": isEndpoint ? name : platform, "stream": stream as Any])
    }
}
