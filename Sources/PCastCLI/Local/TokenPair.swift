import Foundation

/// The two tokens of a client: one to authenticate, one for its stream. Often one is good for both.
struct TokenPair: Equatable {
    let authentication: String
    let stream: String

    init(authentication: String, stream: String) {
        self.authentication = authentication
        self.stream = stream
    }

    /// Tells tokens that a person gave apart by what they say they are for. One that is for a stream only leaves the
    /// authentication to what the platform gives the people of its own computer.
    ///
    /// - Parameter tokens: one or two; none is for a platform on this computer, which asks for none.
    init(_ tokens: [String], isLocal: Bool) throws(CommandFailure) {
        guard tokens.count <= 2 else {
            throw CommandFailure(.unusableArguments, "Two tokens at most: one to authenticate, one for the stream.")
        }
        guard tokens.allSatisfy({ $0.hasPrefix("DIGEST:") }) else {
            throw CommandFailure(.unusableArguments, "A token begins with DIGEST:; “pcast token create” makes one.")
        }
        let forStream = tokens.filter { ["stream", "publish"].contains(Self.field("type", of: $0)) }
        let others = tokens.filter { !forStream.contains($0) }
        stream = forStream.first ?? others.first ?? ""
        authentication = others.first ?? (isLocal ? "" : stream)
    }

    /// A field of a token's body as it says; only the platform can tell whether it is true.
    static func field(_ name: String, of token: String) -> String? {
        guard token.utf8.count < 64 * 1024, let envelope = Data(base64Encoded: String(token.dropFirst(7))),
            let object = try? JSONSerialization.jsonObject(with: envelope) as? [String: Any],
            let body = object["token"] as? String,
            let fields = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        else { return nil }
        return fields[name] as? String
    }
}

/// Tokens are not for logs.
extension TokenPair: CustomStringConvertible, CustomReflectable {
    var description: String { "tokens" }

    var customMirror: Mirror { Mirror(self, children: []) }
}
