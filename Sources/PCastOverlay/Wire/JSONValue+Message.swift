import PCastJSON

extension JSONLimits {
    /// Of a message between a page and an overlay. Both sides may be of anybody, and have to understand the same.
    static let overlay = JSONLimits(
        bytes: OverlayEnvelope.sizeLimit, values: 4_096, members: 4_096, refusesAmbiguity: true)
}

extension JSONValue {
    /// - Throws: what is wrong with the text, or which bound it breaks.
    init(message text: String) throws(OverlayWireError) {
        do throws(JSONError) {
            try self.init(Array(text.utf8), within: .overlay)
        } catch {
            throw OverlayWireError(error)
        }
    }
}
