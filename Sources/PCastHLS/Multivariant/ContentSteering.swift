/// Who says which of several pathways to take (`EXT-X-CONTENT-STEERING`; RFC 8216bis, section 4.4.6.6).
public struct ContentSteering: Hashable, Sendable {
    public var serverURI: String
    /// The pathway until the server has said something.
    public var pathwayID: String?

    public init(serverURI: String, pathwayID: String? = nil) {
        self.serverURI = serverURI
        self.pathwayID = pathwayID
    }

    init(_ list: AttributeList) throws(PlaylistError) {
        serverURI = try list.required("SERVER-URI")
        pathwayID = list.string("PATHWAY-ID")
    }

    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("SERVER-URI", serverURI)
        writer.quoted("PATHWAY-ID", pathwayID)
        return writer
    }
}
