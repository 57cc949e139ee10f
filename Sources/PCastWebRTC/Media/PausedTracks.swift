/// The tracks of a stream that were asked to pause and have not resumed.
package struct PausedTracks: Hashable, Sendable {
    /// The video layers, as a bit mask.
    package var layers: UInt8 = 0
    /// Whether audio is paused.
    package var audio = false

    /// Creates a value without paused tracks.
    package init() {}
}
