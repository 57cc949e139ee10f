/// Which content an address is played by.
public enum MediaContent {
    /// A content that is not open yet: playlists of web servers by HTTP Live Streaming, recognized by the address's ending
    /// (`.m3u8`) or else by what the server says; everything else as a file.
    ///
    /// - Parameter isPlaylist: where somebody knows better than the address's ending.
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
