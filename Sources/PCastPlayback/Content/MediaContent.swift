/// Which content an address is played by.
public enum MediaContent {
    /// A content that is not open yet: playlists (`.m3u8`) of web servers by HTTP Live Streaming, everything else as a
    /// file.
    ///
    /// - Parameter isPlaylist: where somebody knows better than the address's ending.
    public static func content(
        at address: String, isPlaylist: Bool? = nil, configuration: HLSContent.Configuration = .init()
    ) -> any PlaybackContent {
        let named = ContentAddress(address)
        return isPlaylist ?? (named.isPlaylist && named.kind == .web)
            ? HLSContent(address, configuration: configuration)
            : FileContent(address, patience: configuration.patience)
    }
}
