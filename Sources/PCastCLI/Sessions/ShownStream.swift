import PCast
import PCastMedia

/// One stream of a run of `subscribe`, as it is decoded and recorded.
struct ShownStream: Sendable {
    let stream: MediaStream
    let renderer: Renderer
    let recording: StreamRecording?
    let sizes: AsyncStream<Dimensions>
    let statistics: AsyncStream<ViewerStatistics>

    /// Begins to show it.
    ///
    /// - Parameter path: where it is recorded; nil for nowhere.
    init(_ stream: MediaStream, recording path: String?) throws {
        self.stream = stream
        renderer = stream.createRenderer()
        sizes = renderer.videoDisplayDimensionsChanges
        statistics = renderer.statistics
        guard renderer.start() == .ok else {
            throw CommandFailure(.failed, "The stream cannot be decoded here: it has ended, or no thread can be had.")
        }
        recording = try path.map { path throws(PCastError) in try stream.record(to: path) }
    }
}
