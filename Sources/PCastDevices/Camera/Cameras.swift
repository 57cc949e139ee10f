import PCastCore

/// The V4L2 cameras of this machine.
package enum Cameras {
    /// Returns every camera with its capabilities, in order of preference: hardware before virtual devices. It does not
    /// disturb a program that uses a camera. Metadata nodes, outputs and converters are excluded, and so are nodes that
    /// may not be opened (`closedNodes`). An identifier is the name under `/dev/v4l/by-id` for USB cameras with a
    /// serial number, otherwise the name under `/dev/v4l/by-path`. It is computed from sysfs and does not require udev.
    /// Cameras that would have the same name get one from V4L2's bus information.
    package static func enumerate() -> [SourceDevice] {
        CameraNode.survey().cameras.compactMap { camera in
            // The camera may have been unplugged.
            guard let node = try? VideoNode(path: camera.path, access: .driver) else { return nil }
            return device(camera, node)
        }
    }

    /// Returns the identifier of the camera with another name: a link under `/dev/v4l`, or a node such as
    /// `/dev/video0`. Returns nil if there is none.
    package static func identifier(of name: String) -> String? { try? CameraNode.survey().camera(name).id }

    /// Returns the errors of nodes that look like cameras and cannot be opened: `.forbidden` with the group to join, or
    /// `.busy`.
    package static func closedNodes() -> [DeviceError] {
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
                    mountRotation: CameraFeatures.mountRotation(controls, node))))
    }
}
