import PCastMedia

/// The cameras of this machine, by V4L2.
public enum Cameras {
    /// Every camera with what it can do, the best first: hardware before what only the kernel makes. Asking takes no
    /// camera from a program that has it, and changes nothing. Nodes of metadata, outputs and converters are left out,
    /// and so is what may not be opened (`closedNodes`).
    ///
    /// An identifier is the camera's name under `/dev/v4l/by-id` where it has a serial number on USB, else under
    /// `/dev/v4l/by-path`; it is worked out from sysfs, so it does not need udev. Where several cameras would have one
    /// name, it is made from V4L2's bus information.
    public static func enumerate() -> [SourceDevice] {
        CameraNode.survey().cameras.compactMap { camera in
            // It may have been unplugged since.
            guard let node = try? VideoNode(path: camera.path, access: .driver) else { return nil }
            return device(camera, node)
        }
    }

    /// The identifier of the camera that people call by another of its names: a link below `/dev/v4l`, or a node such as
    /// `/dev/video0`. Nil when there is none.
    public static func identifier(of name: String) -> String? { try? CameraNode.survey().camera(name).id }

    /// Nodes that look like cameras and cannot be asked, each with the reason: `.forbidden` with the group to join, or
    /// `.busy`.
    public static func closedNodes() -> [DeviceError] {
        CameraNode.survey().closed.map { $0.error.deviceError($0.path, path: $0.path) }
    }

    static func device(_ camera: CameraNode, _ node: VideoNode) -> SourceDevice {
        let controls = ControlList(of: node)
        let features = CameraFeatures(controls)
        return SourceDevice(
            info: SourceDeviceInfo(
                id: camera.id, name: camera.identity.name, mediaType: .video, deviceType: .physical,
                facingMode: CameraFeatures.facingMode(controls, node)),
            identity: camera.identity,
            capabilities: .video(
                VideoCapabilities(
                    formats: CameraFormats(node: node).list(), controls: controls.descriptions.map(\.control),
                    flashModes: features.flashModes, autoFocusModes: features.autoFocusModes,
                    hasFocusTarget: features.hasFocusTarget,
                    mountingTurns: CameraFeatures.mountingTurns(controls, node))))
    }
}
