// Browsers start no worker from a file. Where the site is read without a server, its search runs in
// a hidden frame instead, which has what the search uses of a worker: messages, in both directions.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = this.inside.document.createElement("script")
      script.src = new URL(url, document.baseURI)
      script.onload = () => {
        const { waiting } = this
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      }
      this.inside.document.body.appendChild(script)
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }))
    }
  }
  window.Worker = window.IFrameWorker
}
