public import PCast

public typealias PhenixAspectRatioMode = AspectRatioMode

/// How a renderer shows a stream (seed 004: `PhenixRendererOptions`).
public final class PhenixRendererOptions {
    public var aspectRatioMode = PhenixAspectRatioMode.automatic
    public var autoMirroringEnabled = false
    public var useNullVideoDevice = false
    public var useNullAudioDevice = false

    public init() {}

    var options: RendererOptions {
        RendererOptions(
            useNullAudioDevice: useNullAudioDevice, useNullVideoDevice: useNullVideoDevice,
            aspectRatioMode: aspectRatioMode, autoMirroringEnabled: autoMirroringEnabled)
    }
}

extension MediaStream {
    /// Makes a renderer, which is started by itself.
    public func createRenderer(_ options: PhenixRendererOptions!) -> PhenixRenderer! {
        createRenderer((options ?? PhenixRendererOptions()).options)
    }
}

extension Renderer {
    public var audioMuted: Bool { isAudioMuted }
}
