public import PCastCore
import PCastJSON

/// Creates EdgeAuth tokens, which a backend signs with the secret of its application.
///
///     let token = try EdgeTokenBuilder()
///         .withApplicationId("my-application").withSecret(secret)
///         .expiresIn(.seconds(3_600), from: now)
///         .forPublishingOnly().applyTag("studio")
///         .build()
///
/// Fields have the order of the calls, so that the same calls create the same bytes as the Node.js library
/// `phenix-edge-auth`. A field that is set again keeps its position, and lists grow.
public struct EdgeTokenBuilder: Sendable {
    private var applicationID: String?
    private var secret: String?
    private var token = JSONObject()

    /// Creates a builder without any fields.
    public init() {}

    /// Sets the application that signs, which is required.
    public func withApplicationId(_ applicationID: String) -> Self {
        modified { $0.applicationID = applicationID }
    }

    /// Sets the secret of the application, which is required.
    public func withSecret(_ secret: String) -> Self {
        modified { $0.secret = secret }
    }

    /// Sets the URI of the platform.
    public func withUri(_ uri: String) -> Self { setting("uri", uri) }

    /// Sets the expiration to a duration after `now`. The module `PCast` has a form that reads the clock.
    public func expiresIn(_ duration: Duration, from now: WallTime) -> Self {
        expiresAt(milliseconds: now.advanced(by: duration).millisecondsSinceEpoch)
    }

    /// Sets the expiration in milliseconds since the Unix epoch, less than 2^53 as in ECMAScript.
    public func expiresAt(milliseconds: Int64) -> Self {
        modified { $0.token["expires"] = .number(Double(milliseconds)) }
    }

    /// Restricts the token to authenticating.
    public func forAuthenticationOnly() -> Self { setting("type", EdgeToken.Kind.authentication.rawValue) }

    /// Restricts the token to subscribing.
    public func forStreamingOnly() -> Self { setting("type", EdgeToken.Kind.streaming.rawValue) }

    /// Restricts the token to publishing.
    public func forPublishingOnly() -> Self { setting("type", EdgeToken.Kind.publishing.rawValue) }

    /// Adds a capability that the token grants to streams.
    public func withCapability(_ capability: String) -> Self { appending(capability, to: "capabilities") }

    /// Restricts the token to a session.
    public func forSession(_ sessionID: String) -> Self { setting("sessionId", sessionID) }

    /// Restricts the token to a client's IP address.
    public func forRemoteAddress(_ address: String) -> Self { setting("remoteAddress", address) }

    /// Restricts subscribing to a stream.
    public func forOriginStream(_ streamID: String) -> Self { setting("originStreamId", streamID) }

    /// Restricts subscribing to streams of a channel. A token has one required tag, so this replaces the channel, room
    /// or tag of an earlier call.
    public func forChannel(_ channelID: String) -> Self { forTag("channelId:\(channelID)") }

    /// Restricts subscribing to streams of a channel alias. It sets the required tag.
    public func forChannelAlias(_ alias: String) -> Self { forTag("channelAlias:\(alias)") }

    /// Restricts subscribing to streams of a room. It sets the required tag.
    public func forRoom(_ roomID: String) -> Self { forTag("roomId:\(roomID)") }

    /// Restricts subscribing to streams of a room alias. It sets the required tag.
    public func forRoomAlias(_ alias: String) -> Self { forTag("roomAlias:\(alias)") }

    /// Restricts subscribing to streams with a tag, the required tag of the token.
    public func forTag(_ tag: String) -> Self { setting("requiredTag", tag) }

    /// Adds a tag that streams published with the token get.
    public func applyTag(_ tag: String) -> Self { appending(tag, to: "applyTags") }

    /// Signs and encodes the token.
    ///
    /// - Returns: The token, `DIGEST:…`.
    /// - Throws: ``EdgeAuthError`` if a required value is missing or the token is too large.
    public func build() throws(EdgeAuthError) -> String {
        guard let applicationID, !applicationID.isEmpty else { throw .missingApplicationID }
        guard let secret else { throw .missingSecret }
        return try DigestTokens.signAndEncode(applicationID: applicationID, secret: secret, token: token)
    }

    private func modified(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    private func setting(_ name: String, _ value: String) -> Self {
        modified { $0.token[name] = .string(value) }
    }

    private func appending(_ element: String, to name: String) -> Self {
        modified {
            var elements: [JSONValue] = []
            if case .array(let present)? = $0.token[name] { elements = present }
            $0.token[name] = .array(elements + [.string(element)])
        }
    }
}

/// Descriptions leave out the secret, so that it does not appear in logs.
extension EdgeTokenBuilder: CustomStringConvertible, CustomReflectable {
    /// The body of the token as JSON, without the secret.
    public var description: String { token.text }

    /// A mirror that contains only the body of the token.
    public var customMirror: Mirror { Mirror(self, children: ["token": token.text]) }
}
