// Base64 of gzip, back to bytes, in slices short enough to leave the page responsive.

const pause = () => new Promise((resolve) => setTimeout(resolve));

const read = (id) => JSON.parse(document.getElementById(id).textContent);

async function unpack(id) {
  const element = document.getElementById(id);
  const text = element.textContent;
  element.remove();
  const stream = new DecompressionStream("gzip");
  const bytes = new Response(stream.readable).arrayBuffer();
  const writer = stream.writable.getWriter();
  const slice = 1 << 19; // a multiple of 4: each slice of base64 stands for whole bytes
  for (let start = 0; start < text.length; start += slice) {
    const binary = atob(text.slice(start, start + slice));
    const part = new Uint8Array(binary.length);
    for (let place = 0; place < part.length; place++) part[place] = binary.charCodeAt(place);
    writer.write(part);
    await pause();
  }
  writer.close();
  return bytes;
}

const TYPES = { Int16Array, Uint8Array, Uint16Array, Uint32Array, Float32Array };

async function unpackArrays(types) {
  const arrays = {};
  for (const [name, type] of Object.entries(types)) {
    const bytes = await unpack("array-" + name);
    arrays[name] = type === "JSON" ? JSON.parse(new TextDecoder().decode(bytes)) : new TYPES[type](bytes);
  }
  return arrays;
}
