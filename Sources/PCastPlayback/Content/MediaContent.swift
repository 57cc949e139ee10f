/// A factory for the content of an address.
public enum MediaContent {
    /// Returns content that is not open yet. A web address is HTTP Live Streaming if it ends in `.m3u8`, or if the
    /// server's response is a playlist. Any other address is a file. `isPlaylist` overrides the detection if it is not
    /// nil.
    public static func content(
        at address: String, isPlaylist: Bool? = nil, configuration: HLSContent.Configuration = .init()
    ) -> any PlaybackContent {
        let named = ContentAddress(address)
        if isPlaylist ?? (named.isPlaylist && named.kind == .web) {
            return HLSContent(address, configuration: configuration)
        }
        if isPlaylist == nil, named.kind == .web, !named.isFile {
            return WebContent(named, configuration: configuration)
        }
        return FileContent(address, timeout: configuration.timeout)
    }
}
