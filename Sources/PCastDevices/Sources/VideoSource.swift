public import PCastMedia

/// Where pictures come from: a device, a file, or nothing but time.
public protocol VideoSource: AnyObject, Sendable {
    /// The size of its pictures; those of a stream may change later.
    var dimensions: Dimensions { get }

    /// Pictures a second as the source says; a camera in the dark makes fewer (COD7), so nothing is timed by it.
    var nominalFrameRate: Double { get }

    /// Starts delivering. Once in a source's life.
    ///
    /// - Parameters:
    ///   - deliver: gets each picture on the source's own thread, when it is due; it must not block.
    ///   - ended: is called at most once, on the source's thread, when it ends of itself; never after `stop`.
    func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError)

    /// Ends delivery and waits until the last call has returned, unless called by one of them.
    func stop()
}
