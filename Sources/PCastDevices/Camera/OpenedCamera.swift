import CV4L2
import PCastCore

/// A camera that is reserved, with its format set and its buffers mapped.
struct OpenedCamera {
    let node: VideoNode
    let format: NegotiatedFormat
    let buffers: CaptureBuffers
    let controls: CameraControls
    let mountRotation: Int

    init(
        _ camera: CameraNode, _ configuration: VideoConfiguration, locksFrameRate: Bool
    ) throws(DeviceError) {
        let name = camera.identity.name
        do {
            try self.init(node: VideoNode(path: camera.path, access: .library), name, configuration, locksFrameRate)
        } catch let error as DriverError {
            throw error.deviceError(name, path: camera.path)
        } catch let error as DeviceError {
            throw error
        } catch {
            throw .faulty(name, reason: "\(error)")
        }
    }

    private init(
        node: VideoNode, _ name: String, _ configuration: VideoConfiguration, _ locksFrameRate: Bool
    ) throws {
        let formats = CameraFormats(node: node)
        guard let code = Self.code(for: configuration, formats) else {
            let encodings = Set(formats.codes().map(\.name)).sorted().joined(separator: ", ")
            throw DeviceError.faulty(
                name,
                reason:
                    "it does not offer \(configuration.encoding.name) (\(encodings.isEmpty ? "nothing" : encodings))")
        }
        let list = ControlList(of: node)
        format = try NegotiatedFormat(
            node, code: code, dimensions: configuration.dimensions, frameRate: configuration.frameRate)
        controls = CameraControls(node, list, size: format.dimensions)
        if format.code.isH264 { controls.prepareH264(frameRate: format.frameRate) }
        buffers = try CaptureBuffers(of: node)
        if locksFrameRate { controls.lockFrameRate() }
        mountRotation = CameraFeatures.mountRotation(list, node)
        self.node = node
    }

    /// Returns the driver's code of the requested encoding, or of the best one if none is requested.
    private static func code(for configuration: VideoConfiguration, _ formats: CameraFormats) -> FourCC? {
        let codes = formats.codes()
        guard configuration.encoding == .computed else {
            return codes.first { $0.encoding == configuration.encoding && $0.encoding.isCapturable }
        }
        let best = EncodingChoice(configuration).best(of: formats.list())
        return codes.first { $0.encoding == best }
    }
}
