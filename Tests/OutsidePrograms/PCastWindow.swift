// A program outside the package with the product PCastWindow. It draws its own frames in a window.
import PCastWindow

let window = VideoWindow(
    WindowOptions(
        title: "Window", dimensions: Dimensions(width: 640, height: 360),
        arrangement: FrameArrangement(aspectRatioMode: .fill, rotation: FrameRotation.none), drawing: .software))
do throws(WindowError) {
    try await window.open()
    window.arrangement.mirroring = FrameMirroring.horizontal
    let surface: any RenderSurface = window
    for await event: SurfaceEvent in surface.events {
        guard case .ready = event else { continue }
        break
    }
    let statistics: SurfaceStatistics = window.statistics
    print(statistics.framesShown, statistics.delay)
} catch {
    print(error.description)
}
window.close()
