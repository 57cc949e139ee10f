public import PCast

// Callbacks for the events of streams and renderers. They are never on the caller's thread.

extension MediaStream {
    /// Calls back once: when the stream ends, or at once if it has ended (Phenix: `setStreamEndedCallback`).
    public func setStreamEndedCallback(
        _ callback: @escaping @Sendable (MediaStream, StreamEndedReason, _ reasonDescription: String) -> Void
    ) {
        whenEnded { info in callback(self, info.reason, info.reasonDescription) }
    }
}

extension Publisher {
    /// Calls back once: when the stream ends, or at once if it has ended (Phenix: `setPublisherEndedCallback`).
    public func setPublisherEndedCallback(
        _ callback: @escaping @Sendable (Publisher, StreamEndedReason, _ reasonDescription: String) -> Void
    ) {
        whenEnded { info in callback(self, info.reason, info.reasonDescription) }
    }

    /// Calls back at each change of the data quality until the stream ends (Phenix: `setDataQualityChangedCallback`).
    public func setDataQualityChangedCallback(
        _ callback: @escaping @Sendable (Publisher, DataQuality.Status, DataQuality.Reason) -> Void
    ) {
        let qualities = dataQualities
        Task {
            for await quality in qualities { callback(self, quality.status, quality.reason) }
        }
    }
}

extension Renderer {
    /// Begins to render the stream. Returns `ok`, or the reason why rendering did not begin.
    @discardableResult
    public func start() -> RendererStartStatus {
        do throws(PCastError) {
            try begin()
            return .ok
        } catch {
            return RendererStartStatus(error)
        }
    }

    /// Calls the form of `start` that throws.
    private func begin() throws(PCastError) {
        let start: () throws(PCastError) -> Void = self.start
        try start()
    }

    /// Calls back each time that the render surface is ready: at first, and again after an interruption (Phenix:
    /// `setRenderSurfaceReadyCallback`). If the application has not supplied a surface, the renderer creates it; see
    /// ``PCast/Renderer/createRenderSurface()``.
    ///
    /// - Parameter callback: The function that receives the surface.
    public func setRenderSurfaceReadyCallback(
        _ callback: @escaping @Sendable (Renderer, any RenderSurface) -> Void
    ) {
        whenRenderSurfaceReady(callback)
    }

    /// Calls back once with the time on the machine's monotonic clock at which the first frame was shown. There is no
    /// call if no frame was shown.
    public func setFirstFrameRenderedCallback(_ callback: @escaping @Sendable (Renderer, Instant) -> Void) {
        whenFirstFrameRendered { [weak self] instant in
            guard let self, let instant else { return }
            Task { callback(self, instant) }
        }
    }

    /// Calls back at each change of the dimensions (Phenix: `setVideoDisplayDimensionsChangedCallback`).
    public func setVideoDisplayDimensionsChangedCallback(
        _ callback: @escaping @Sendable (Renderer, Dimensions) -> Void
    ) {
        let changes = videoDisplayDimensionsChanges
        Task { [weak self] in
            for await dimensions in changes {
                guard let self else { return }
                callback(self, dimensions)
            }
        }
    }

    /// Calls back at each change of the captions on the displayed frame, while the stream is rendered. The text is nil
    /// for none.
    public func setCaptionChangedCallback(_ callback: @escaping @Sendable (Renderer, String?) -> Void) {
        let changes = caption.values
        Task { [weak self] in
            var last: String?
            for await text in changes where text != last {
                guard let self else { return }
                last = text
                callback(self, text)
            }
        }
    }

    /// Sets the callback of ``requestLastVideoFrameRendered()``. It receives nil if no frame has been shown.
    public func setLastVideoFrameRenderedReceivedCallback(
        _ callback: @escaping @Sendable (Renderer, VideoFrame?) -> Void
    ) {
        frameRequested = callback
    }

    /// Requests the frame that was shown last, e.g. for a screenshot (Phenix: `requestLastVideoFrameRendered`).
    public func requestLastVideoFrameRendered() {
        guard let callback = frameRequested else { return }
        Task { callback(self, lastVideoFrameRendered) }
    }

    /// Calls back at each change of the data quality until the stream ends (Phenix: `setDataQualityChangedCallback`).
    public func setDataQualityChangedCallback(
        _ callback: @escaping @Sendable (Renderer, DataQuality.Status, DataQuality.Reason) -> Void
    ) {
        let qualities = dataQualities
        Task { [weak self] in
            for await quality in qualities {
                guard let self else { return }
                callback(self, quality.status, quality.reason)
            }
        }
    }
}

/// The result of a renderer's start (Phenix: `PhenixRendererStartStatus`, with the same numbers).
public enum RendererStartStatus: Int, Hashable, Sendable, CaseIterable {
    /// The renderer was started.
    case ok = 200
    /// This kind of renderer does not support the stream.
    case badRequest = 400
    /// The renderer was already started or stopped. Create another one. The number is Phenix's.
    case conflict = 410
    /// The stream has ended, or there is no thread or decoder.
    case failed = 500
    /// The start took too long.
    case timeout = 504
}

extension RendererStartStatus {
    /// Creates the status for an error of ``PCast/Renderer/start()``.
    init(_ error: PCastError) {
        self =
            switch error.status {
            case .gone, .conflict: .conflict
            case .badRequest: .badRequest
            case .timeout: .timeout
            default: .failed
            }
    }
}

extension ObservableValue {
    /// Calls back with the current value and then with each change, while the returned object is held. The calls are
    /// sequential and never on the caller's thread.
    ///
    /// - Parameter changed: The function that receives the values.
    /// - Returns: The subscription, which ends when it is disposed or released.
    public func subscribe(_ changed: @escaping @Sendable (Value) -> Void) -> Disposable {
        let values = values
        let task = Task {
            for await value in values {
                if Task.isCancelled { return }
                changed(value)
            }
        }
        return Disposable { task.cancel() }
    }
}
