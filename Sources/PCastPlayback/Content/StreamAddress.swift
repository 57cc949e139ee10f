internal import Foundation
public import PCast
internal import PCastHLS

/// A stream of a platform, as people name it: `pcast://HOST[:PORT]/STREAM`, `pcasts:` where the platform has TLS, or the link for
/// browsers, `http(s)://HOST[:PORT]/watch/STREAM`. Each may have `#token=TOKEN` behind it; without a stream the token says which
/// one, or else it is the newest.
public struct StreamAddress: Hashable, Sendable {
    /// The platform's own address, of http or https.
    public var platform: String
    public var stream: String?
    /// Lets view the stream. A secret.
    public var token: String?

    public init(platform: String, stream: String? = nil, token: String? = nil) {
        (self.platform, self.stream, self.token) = (platform, stream, token)
    }

    /// nil for what names no stream.
    public init?(_ address: String) {
        var reference = URIReference(address)
        guard let authority = reference.authority, !authority.isEmpty else { return nil }
        let fields = (reference.fragment ?? "").split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        let token = fields.first { $0.count == 2 && $0[0] == "token" }.flatMap { Self.decoded($0[1]) }
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

    private static func decoded(_ text: Substring) -> String? { String(text).removingPercentEncoding }

    /// For people, as it can be given again: without the token.
    public var name: String {
        var reference = URIReference("\(platform)/\(stream ?? "")")
        let isSecure = ["https", "wss"].contains(reference.scheme?.lowercased() ?? "")
        reference.scheme = isSecure ? "pcasts" : "pcast"
        return ContentAddress.withoutSecrets(reference)
    }

    /// Watches the stream, by a client of its own that ends with it.
    ///
    /// - Parameters:
    ///   - authentication: opens the session; nil for the address's own token.
    ///   - viewing: lets view the stream; nil for the same.
    /// - Throws: `noStream`, with what the platform says.
    public func subscribe(
        authentication: String? = nil, viewing: String? = nil
    ) async throws(PlaybackError) -> MediaStream {
        let pcast = PCast(PCastOptions(uri: platform))
        do throws(PCastError) {
            _ = try await pcast.start(authenticationToken: authentication ?? token ?? "")
            let stream = try await pcast.subscribe(
                streamToken: viewing ?? token ?? "", streamID: self.stream.map { StreamID($0) })
            stream.setStreamEndedCallback { _, _, _ in Task { await pcast.shutdown() } }
            return stream
        } catch {
            await pcast.shutdown()
            throw .noStream(
                name, status: error.cause == .connection ? nil : error.status, reason: error.description)
        }
    }
}

extension StreamAddress: CustomStringConvertible, CustomReflectable {
    public var description: String { name }

    public var customMirror: Mirror { Mirror(self, children: ["platform": platform, "stream": stream as Any]) }
}
