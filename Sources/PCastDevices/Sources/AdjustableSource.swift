/// A source of pictures that can be told otherwise while it runs.
protocol AdjustableSource: AnyObject, Sendable {
    /// What could not be granted when it was opened, each with the reason for people.
    var unmet: [DeviceCapability: String] { get }

    /// Takes over flash, focus and target; the format stays.
    ///
    /// - Returns: the capabilities whose wishes could not be granted, each with the reason for people.
    func apply(_ configuration: VideoConfiguration) -> [DeviceCapability: String]

    /// Asks for a picture that can be decoded alone, where the device codes pictures itself.
    ///
    /// - Returns: whether it can.
    @discardableResult func requestKeyFrame() -> Bool
}

extension CameraSource: AdjustableSource {}
