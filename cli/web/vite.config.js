import { defineConfig } from 'vite'
import { thirdPartyNotices } from './scripts/notices.js'

// The output is committed and embedded, so names carry no hash and nothing in
// it depends on the machine or the clock.
export default defineConfig({
  base: './',
  oxc: { jsx: { runtime: 'automatic', development: false } },
  plugins: [thirdPartyNotices()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        entryFileNames: 'assets/app.js',
        chunkFileNames: 'assets/[name].js',
        assetFileNames: 'assets/app[extname]',
        codeSplitting: false,
      },
    },
  },
  server: {
    proxy: { '/api': process.env.ROSCIUS_URL ?? 'http://127.0.0.1:8787' },
  },
})
