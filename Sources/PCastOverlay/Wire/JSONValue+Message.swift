import PCastJSON

extension JSONLimits {
    /// The limits of a message between a page and an overlay. Ambiguous JSON is rejected, so that both ends read a
    /// message in the same way.
    static let overlay = JSONLimits(
        bytes: OverlayEnvelope.sizeLimit, values: 4_096, members: 4_096, refusesAmbiguity: true)
}

extension JSONValue {
    /// Parses a message.
    ///
    /// - Parameter text: The JSON text of a whole message.
    /// - Throws: ``OverlayWireError`` if the text is not JSON or exceeds a limit.
    init(message text: String) throws(OverlayWireError) {
        do throws(JSONError) {
            try self.init(Array(text.utf8), within: .overlay)
        } catch {
            throw OverlayWireError(error)
        }
    }
}
