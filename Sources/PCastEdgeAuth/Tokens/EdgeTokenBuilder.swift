import PCastJSON
public import PCastMedia

/// Makes EdgeAuth tokens. The fields stand in the token in the order of the calls, so that the same calls make the
/// same bytes as the Node library `phenix-edge-auth`; a field that is set again keeps its place, lists grow.
public struct EdgeTokenBuilder: Sendable {
    private var applicationID: String?
    private var secret: String?
    private var token = JSONObject()

    public init() {}

    /// The application that signs; required.
    public func withApplicationId(_ applicationID: String) -> Self {
        modified { $0.applicationID = applicationID }
    }

    /// The secret of the application; required.
    public func withSecret(_ secret: String) -> Self {
        modified { $0.secret = secret }
    }

    /// The address of the platform.
    public func withUri(_ uri: String) -> Self { setting("uri", uri) }

    /// Expires when `span` has passed from `now` on.
    public func expiresIn(_ span: TimeSpan, from now: WallTime) -> Self {
        expiresAt(milliseconds: (now + span).millisecondsSinceEpoch)
    }

    /// Expires at a moment given in milliseconds since the Unix epoch; below 2^53 of them, as in ECMAScript.
    public func expiresAt(milliseconds: Int64) -> Self {
        modified { $0.token["expires"] = .number(Double(milliseconds)) }
    }

    public func forAuthenticationOnly() -> Self { setting("type", EdgeToken.Kind.authentication.rawValue) }

    public func forStreamingOnly() -> Self { setting("type", EdgeToken.Kind.streaming.rawValue) }

    public func forPublishingOnly() -> Self { setting("type", EdgeToken.Kind.publishing.rawValue) }

    /// Grants a stream one more capability.
    public func withCapability(_ capability: String) -> Self { appending(capability, to: "capabilities") }

    /// Only this session may use it.
    public func forSession(_ sessionID: String) -> Self { setting("sessionId", sessionID) }

    /// Only this IP address may use it.
    public func forRemoteAddress(_ address: String) -> Self { setting("remoteAddress", address) }

    /// Only this stream may be viewed.
    public func forOriginStream(_ streamID: String) -> Self { setting("originStreamId", streamID) }

    /// Only streams of this channel may be viewed; like all that follow but `applyTag`, one way to set the one tag
    /// that the viewed stream must carry.
    public func forChannel(_ channelID: String) -> Self { forTag("channelId:\(channelID)") }

    public func forChannelAlias(_ alias: String) -> Self { forTag("channelAlias:\(alias)") }

    public func forRoom(_ roomID: String) -> Self { forTag("roomId:\(roomID)") }

    public func forRoomAlias(_ alias: String) -> Self { forTag("roomAlias:\(alias)") }

    public func forTag(_ tag: String) -> Self { setting("requiredTag", tag) }

    /// One more tag for the stream that is made with it.
    public func applyTag(_ tag: String) -> Self { appending(tag, to: "applyTags") }

    /// The encoded token, `DIGEST:…`.
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

/// The secret is not for logs.
extension EdgeTokenBuilder: CustomStringConvertible, CustomReflectable {
    public var description: String { token.text }

    public var customMirror: Mirror { Mirror(self, children: ["token": token.text]) }
}
